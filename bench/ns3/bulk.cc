// The scenario of scripts/bench/virtual in ns-3: bulk TCP over one link, for some seconds of simulated time.
//
//   g++ -O2 -std=c++17 bulk.cc -o bulk -lns3-applications -lns3-point-to-point -lns3-internet -lns3-traffic-control \
//       -lns3-network -lns3-core
//   ./bulk [--rate=100Mbps] [--delay=10ms] [--queue=500p] [--seconds=10]
//
// As near to lasthop's as ns-3's own TCP comes: segments of 1448 bytes with time stamps (an MTU of 1500), SACK, CUBIC, initial window 10,
// buffers of 4 MB, a drop-tail queue in front of the link and no queue discipline above it. Prints the receiver's bytes.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"
#include <iostream>

using namespace ns3;

int
main(int argc, char* argv[])
{
    std::string rate = "100Mbps";
    std::string delay = "10ms";
    std::string queue = "500p";
    double seconds = 10;
    CommandLine line(__FILE__);
    line.AddValue("rate", "rate of the link, both ways", rate);
    line.AddValue("delay", "delay of the link, each way", delay);
    line.AddValue("queue", "queue in front of the link", queue);
    line.AddValue("seconds", "simulated time", seconds);
    line.Parse(argc, argv);

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::DropTailQueue<Packet>::MaxSize", StringValue(queue));

    NodeContainer nodes;
    nodes.Create(2);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(rate));
    link.SetDeviceAttribute("Mtu", UintegerValue(1500));
    link.SetChannelAttribute("Delay", StringValue(delay));
    NetDeviceContainer devices = link.Install(nodes);
    InternetStackHelper().Install(nodes);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
    TrafficControlHelper().Uninstall(devices);

    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5001));
    ApplicationContainer receiver = sink.Install(nodes.Get(0));
    BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(interfaces.GetAddress(0), 5001));
    bulk.SetAttribute("MaxBytes", UintegerValue(0));
    bulk.SetAttribute("SendSize", UintegerValue(64 * 1024));
    bulk.Install(nodes.Get(1));

    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    std::cout << DynamicCast<PacketSink>(receiver.Get(0))->GetTotalRx() << std::endl;
    Simulator::Destroy();
}
